"""Tools that all packages share.

- `errors` and warnings about input; checks of `arguments` and of `columns`; `defaults`
- `array_types`; operations on `arrays`; `conversion` from other libraries; `sparse` matrices
- `random_streams`, `threads`, `solvers`, `progress`
- `files`, `standard_output`, `text`, `records`
- `visits` of users, whose ids are joined
"""
