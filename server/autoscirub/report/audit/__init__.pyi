from .overview import render_audit as render_audit
from .record import render_anchor as render_anchor
from .record import render_record_verified as render_record_verified
