from .run import CalibrationRun as CalibrationRun
from .run import calibrate as calibrate
from .stale import JudgeInUse as JudgeInUse
from .stale import calibration_line as calibration_line
from .stale import calibration_status as calibration_status
from .stale import stale_because as stale_because
