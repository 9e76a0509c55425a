"""Reading tables: CSV, TSV and parquet, with checked columns and errors that name the row."""
