-- Of each collective call's file: the unit that file domains were asked to be aligned to, and the aggregators asked for and in force.
select
	o.collective,
	max(try_cast(h.value as bigint)) filter (h.key = 'striping_unit') as unit,
	max(h.value) filter (h.key = 'cb_nodes' and h.source = 'asked') as cb_nodes_asked,
	max(h.value) filter (h.key = 'cb_nodes' and h.source = 'in force') as cb_nodes,
	max(h.value) filter (h.key = 'cb_config_list' and h.source = 'asked') as cb_config_list_asked,
	max(h.value) filter (h.key = 'cb_config_list' and h.source = 'in force') as cb_config_list,
	max(try_cast(h.value as bigint)) filter (h.key = 'cb_buffer_size' and h.source = 'in force') as cb_buffer_size
from collectives as o join hints_in_force as h using (file)
where o.layer = 'mpiio' and h.key in ('striping_unit', 'cb_nodes', 'cb_config_list', 'cb_buffer_size')
group by o.collective
