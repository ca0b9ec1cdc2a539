"""A conformance suite for three-way merges of JSON: vectors as data, and a runner for any merge
driver.
"""
