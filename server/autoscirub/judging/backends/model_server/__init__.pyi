from .backend import ModelServerBackend as ModelServerBackend
