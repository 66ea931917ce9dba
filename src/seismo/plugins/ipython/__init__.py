"""The magics for IPython and Jupyter."""
