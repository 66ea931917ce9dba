"""The interpreter's hooks as a service: any number of tools at once, on one thread or on all."""

from seismo.hooks.references import get_ref_tracer, set_ref_tracer

__all__ = ["get_ref_tracer", "set_ref_tracer"]
