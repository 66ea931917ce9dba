"""Engines that are missing, that fail, and what their workers need."""

import importlib
import pickle
import sys

import children
import pytest

from seismo.dataset import append, engines


@pytest.fixture
def folder(make, tmp_path):
    append(tmp_path / "ds", [make(seed) for seed in range(3)])
    return "ds"


def test_without_the_engine_the_command_that_installs_it_is_given(seismo, folder, monkeypatch):
    real = importlib.import_module

    def absent(module, *rest):
        if module.partition(".")[0] in ("dask", "distributed", "pyspark", "ray"):
            raise ImportError(module)
        return real(module, *rest)

    engines.module.cache_clear()
    monkeypatch.setattr(importlib, "import_module", absent)
    for name, title in (("dask", "Dask"), ("spark", "PySpark"), ("ray", "Ray")):
        status, _, errors = seismo("merge", folder, "--engine", name, "-o", "sum.seismo")
        assert (status, f"--engine {name} needs {title}, which is not installed" in errors) == (2, True), errors
        assert f"seismo[{name}]" in errors or "install" in errors
        assert len(errors.splitlines()) == 2


def test_an_engine_that_fails_is_one_sentence(seismo, folder, tmp_path, monkeypatch):
    import contextlib

    @contextlib.contextmanager
    def started():
        def summed(reduction):
            raise RuntimeError("Traceback\n  many lines\nworker \x1b[31mlost")

        yield summed

    monkeypatch.setattr(importlib.import_module("seismo.dataset.engines.dask"), "started", started)
    status, _, errors = seismo("merge", folder, "--engine", "dask", "-o", "sum.seismo")
    assert status == 2
    assert "dask cannot add up losses: RuntimeError: worker" in errors
    assert "\x1b" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["ds"]


WITHOUT_SEISMO = """
import pickle, sys
sys.modules["seismo"] = None
(first, second), groups = pickle.load(sys.stdin.buffer)
print(sum(second(first(groups))["calls low"].to_pylist()))
"""


def test_workers_of_ray_need_nothing_of_seismo(make, tmp_path):
    cloudpickle = pytest.importorskip("cloudpickle", reason="what Ray sends tasks with")
    pytest.importorskip("fsspec", reason="what tasks open files with")
    from seismo.dataset.engines.ray import tasks

    recording = make(1)
    append(tmp_path / "ds", [recording])
    (file,) = map(str, (tmp_path / "ds").glob("recordings/*/calls_by_function.parquet"))
    made = tasks(engines.Reduction([file], ["function", "flags"], ["calls"], ["own_square"], 10))
    data = cloudpickle.dumps((made, [(file, 0)]))
    assert pickle.loads(data)
    (tmp_path / "tasks").write_bytes(data)
    program = WITHOUT_SEISMO.replace("sys.stdin.buffer", f"open({str(tmp_path / 'tasks')!r}, 'rb')")
    out, errors = children.ended(children.popen([sys.executable, "-c", program]))
    assert (out.strip(), errors) == (str(sum(recording.functions["calls"])), "")
