"""The residual filter: a composition that is fixed in advance, given away in any order."""
