-- The first $top; 0: all.
limit if($top = 0, 9000000000000000000, $top)
