from partials order by time desc, who, call, start, id {top}
