from partials order by time desc, who, call {top}
