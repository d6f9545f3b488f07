"""Which menus a residual filter holds, and which exchanges it tries: nothing here is proof."""
