"""Tools that all packages share.

- `errors` and warnings about input; checks of `arguments` and of `columns`; `defaults`
- `array_types`; operations on `arrays`; `conversion` from other libraries; columns of `arrow`;
  `sparse` matrices
- `random_streams`, `threads`, `solvers`, `progress`, `caches`
- `files`, `standard_output`, `text`, `records`
- `units` of evaluation: users, or their visits
"""
