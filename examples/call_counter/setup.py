"""Build the example: python setup.py build_ext --inplace."""

from setuptools import Extension, setup

import seismo

setup(
    name="call-counter",
    version="1.0",
    install_requires=["seismo"],
    ext_modules=[Extension("call_counter", ["call_counter.c"], include_dirs=[seismo.get_include()])],
)
