from partials order by who, process, call, layer
