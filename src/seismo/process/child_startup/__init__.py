"""The folder that `--children` puts first on the PYTHONPATH of what a program starts; see sitecustomize beside this."""
