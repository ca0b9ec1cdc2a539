"""The merge driver that git starts: `PYTHON -I -S driver.py [OPTIONS] %O %A %B %L %P`.

A doorstep only: git runs this file as a script, which is compiled at every start, so what it does lies in mergefile.py.
"""

if __name__ == "__main__":
    import sys

    sys.path.append(__file__[: -len("/checkpoint_git/driver.py")])
    from checkpoint_git.mergefile import main

    main(sys.argv[1:])
