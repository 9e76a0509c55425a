"""Reading tables: CSV, TSV and parquet, columns checked, errors that name the row."""
