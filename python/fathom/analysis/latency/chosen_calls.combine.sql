from partials
