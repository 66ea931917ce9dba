"""A page that asks the database once for each row."""

import sqlite3


def connect():
    db = sqlite3.connect(":memory:")
    db.execute("create table author(id integer primary key, name text)")
    db.execute("create table book(id integer primary key, author integer, title text)")
    db.executemany("insert into author values(?, ?)", [(n, f"author {n}") for n in range(500)])
    db.executemany("insert into book values(?, ?, ?)", [(n, n % 500, f"book {n}") for n in range(4000)])
    return db


def author_of(db, book):
    return db.execute("select name from author where id = ?", (book[1],)).fetchone()[0]


def page(db):
    books = db.execute("select id, author, title from book").fetchall()
    return [f"{title} by {author_of(db, (number, author, title))}" for number, author, title in books]


def main():
    db = connect()
    for _ in range(12):
        page(db)


if __name__ == "__main__":
    main()
