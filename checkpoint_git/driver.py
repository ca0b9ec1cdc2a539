"""The merge driver that git starts: `PYTHON -I -S driver.py [OPTIONS] %O %A %B %L %P`."""

# git runs this file as a script, which is compiled at every start: what it does is in mergefile.py
if __name__ == "__main__":
    import sys

    sys.path.append(__file__[: -len("/checkpoint_git/driver.py")])
    from checkpoint_git.mergefile import main

    main(sys.argv[1:])
