"""Trials in temporary repositories: does git run our driver and our hooks?"""
