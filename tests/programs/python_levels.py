"""Worker processes that write a file each and start a program that writes another.

python_levels.py DIRECTORY PROGRAM METHOD
"""

import multiprocessing
import subprocess
import sys


def work(job: tuple[str, str, int]) -> None:
    directory, program, number = job
    with open(f"{directory}/worker{number}", "wb", buffering=0) as file:
        file.write(b"w" * (100 + number))
    subprocess.run([program, f"{directory}/program{number}", "5"], check=True)


def main(directory: str, program: str, method: str) -> None:
    with open(f"{directory}/first", "wb", buffering=0) as file:
        file.write(b"f" * 50)
    with multiprocessing.get_context(method).Pool(2) as pool:
        pool.map(work, [(directory, program, number) for number in range(4)], chunksize=2)
        pool.close()
        pool.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
