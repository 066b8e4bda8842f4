-- Time and id of the longest request ($sign 1) or the shortest (-1), of those as long the first, in one number; $sign 0: nobody asks. A part.
max(if($sign = 0, null, ($sign * time)::hugeint * 18446744073709551616 - id))
