"""Ranks on several machines: a part of the users in each task of Spark, Dask or Ray.

Each of `engines.spark`, `engines.dask` and `engines.ray` has one function, `rank`, which takes and
returns tables of its engine. Item vectors go to each worker once; of each user, three counts come
back for each relevant item. `evaluate` reads the result, also as a folder of parquet files.
"""
