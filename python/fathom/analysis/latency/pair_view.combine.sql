from partials order by who, number
