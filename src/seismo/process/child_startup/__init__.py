"""The folder that `--children` puts first on the PYTHONPATH of child processes; see sitecustomize beside this."""
