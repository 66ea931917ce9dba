"""Tasks of one process as workers record them: their labels, exact calls and attempts in a dataset."""

import asyncio
import contextlib
import os
import threading

from seismo.dataset import Dataset, append
from seismo.plugins.cluster import task_recording
from seismo.plugins.cluster.task_recording import note


def leaf(number):
    return number * 2


def work(count):
    return sum([leaf(number) for number in range(count)])


def fail(count):
    work(count)
    raise ValueError(count)


async def work_async(count):
    await asyncio.sleep(0)
    return work(count)


def labels(name, attempt=0, **more):
    return {"task": name, "attempt": str(attempt), **more}


def leaves(dataset):
    sql = "select task, sum(calls) from {} join functions using (function) where qualname = 'leaf' group by task"
    by_function, by_path = (dict(dataset.rows(sql.format(table))) for table in ("calls_by_function", "calls_by_path"))
    assert by_function == by_path
    return by_function


def test_tasks_of_several_threads_and_of_none_are_apart_and_add_up(tasks):
    def several(thread):
        for number in range(5):
            tasks.run(labels(f"t{thread}-{number}"), work, 10 + number)

    threads = [threading.Thread(target=several, args=(thread,)) for thread in range(3)]
    for thread in threads:
        thread.start()
    work(7)
    for thread in threads:
        thread.join()
    with Dataset(tasks.append()) as dataset:
        found = leaves(dataset)
        recording = dataset.read()
    assert found.pop("") == 7
    assert sorted(found.values()) == sorted([10, 11, 12, 13, 14] * 3)
    calls = {row.qualname: row.calls for row in recording.functions}
    assert (calls["leaf"], calls["task"]) == (7 + 3 * 60, 15)
    assert len(recording.processes) == 1


def test_coroutines_and_generators_are_tasks_from_their_start_to_their_end(tasks):
    def numbers(count):
        for number in range(count):
            yield work(number)

    async def both():
        await asyncio.gather(*(tasks.run_async(labels(f"a{count}"), work_async, count) for count in (3, 4)))

    asyncio.run(both())
    wrapped = tasks.wrapped(numbers, lambda: labels("numbers"), numbers.__code__)
    assert list(wrapped(4)) == [0, 0, 2, 6]
    with Dataset(tasks.append()) as dataset:
        assert leaves(dataset) == {"a3": 3, "a4": 4, "numbers": 6}


def test_the_last_attempt_that_finished_counts_or_else_the_last(tasks, seismo):
    for attempt, function in ((1, fail), (2, work), (3, fail)):
        for name in ("retried", "never") if function is fail else ("retried",):
            with contextlib.suppress(ValueError):
                tasks.run(labels(name, attempt), function, 10 * attempt)
    folder = tasks.append()
    with Dataset(folder) as dataset:
        assert leaves(dataset) == {"retried": 20, "never": 30}
        assert [row.count for row in dataset.read().losses if "attempts at tasks" in row.detail] == [3]
    with Dataset(folder, attempts="all") as dataset:
        assert leaves(dataset) == {"retried": 60, "never": 40}
        assert not any("attempts at tasks" in row.detail for row in dataset.read().losses)
    sql = "select sum(calls)::bigint from calls_by_function join functions using (function) where qualname = 'leaf'"
    assert "50" in seismo("query", folder, sql)[1]
    assert "100" in seismo("query", folder, sql, "--attempts", "all")[1]
    assert "attempts at tasks" in " ".join(seismo("report", folder)[1].split())
    assert "attempts at tasks" not in " ".join(seismo("report", folder, "--attempts", "all")[1].split())


def test_attempts_of_what_is_no_dataset_are_refused(tasks, seismo, tmp_path):
    tasks.append()
    file = next((tmp_path / "parts").iterdir())
    for words in (("report", file), ("query", file, "select 1")):
        status, _, errors = seismo(*words, "--attempts", "all")
        assert status == 2
        assert "datasets only" in errors


def test_hostile_and_long_labels_are_kept_as_text(tasks):
    name = '"}\n\x1b[31m\udcff' + "x" * 9000
    tasks.run(labels(name, more="'); drop table processes"), work, 3)
    with Dataset(tasks.append()) as dataset:
        rows = dataset.rows("select task, labels['more'] from processes where labels['state'] = 'finished'")
    ((task, more),) = rows
    assert task.startswith('"}\n\x1b[31m')
    assert len(task) <= task_recording.LONGEST
    assert more == "'); drop table processes"


def test_an_unfinished_task_and_notes_of_it_are_in_a_file_that_was_flushed(tasks, tmp_path):
    found = []

    def look(count):
        note({"more": "known later"})
        work(count)
        tasks.flush()
        file = next((tmp_path / "parts").iterdir())
        append(tmp_path / "early", [file])
        with Dataset(tmp_path / "early") as dataset:
            found.extend(dataset.rows("select labels['state'], labels['more'] from processes where task = 'one'"))
            found.append(leaves(dataset))

    tasks.run(labels("one"), look, 5)
    assert found == [("unfinished", "known later"), {"one": 5}]


def test_a_long_recording_goes_on_in_another_file(tasks, monkeypatch, tmp_path):
    monkeypatch.setattr(task_recording, "ROTATE", 10)
    for number in range(4):
        tasks.run(labels(f"t{number}"), work, number)
    assert len(os.listdir(tmp_path / "parts")) > 2
    with Dataset(tasks.append()) as dataset:
        assert leaves(dataset) == {"t1": 1, "t2": 2, "t3": 3}
        assert dataset.rows("select count(*) from processes where labels['state'] = 'finished'") == [(4,)]
