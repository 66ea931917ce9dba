"""Recording of the workers of Dask, Ray and Spark into a dataset, task by task.

Each worker writes a file beside the dataset, DIR.parts/RUN/HOST-PID-N.seismo, in which every task has a marker
(task_recording). So a worker loads the native core and the standard library only, and what it has written outlives it.
The driver appends the files at the end of its `with` block (run); seismo.dataset.tasks splits them into tasks.
"""
