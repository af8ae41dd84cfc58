from .anchor_head import anchor as anchor
from .export import export_record as export_record
from .overview import audit as audit
from .verify import verify_record as verify_record
