-- Outermost calls, chosen by their process and ordinal. A part, after `with`.
chosen as materialized (
	select unnest($processes::uinteger[]) as process, unnest($ordinals::uinteger[]) as call
)
