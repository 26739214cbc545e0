"""Turn style sheets in html into style attributes, and keep what readers' programs need of them."""
