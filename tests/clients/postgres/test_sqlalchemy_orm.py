"""SQLAlchemy's ORM against the PostgreSQL door: tables made from classes, keys that the member gives, objects written and read."""

import datetime
import uuid

import pytest
import sqlalchemy
from sqlalchemy import orm


class Base(orm.DeclarativeBase):
    pass


class Person(Base):
    """A class as every program's first one is: its key is an integer, which SQLAlchemy makes a SERIAL."""

    __tablename__ = f"people_{uuid.uuid4().hex}"

    id = sqlalchemy.Column(sqlalchemy.Integer, primary_key=True)
    name = sqlalchemy.Column(sqlalchemy.String(50), nullable=False)
    born = sqlalchemy.Column(sqlalchemy.Date)


@pytest.fixture
def engine(address):
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://ann@{address}/filbert")
    Base.metadata.create_all(engine)
    yield engine
    Base.metadata.drop_all(engine)
    assert not sqlalchemy.inspect(engine).has_table(Person.__tablename__)
    engine.dispose()


def test_objects_get_their_keys_and_come_back(engine):
    with orm.Session(engine) as session:
        ada = Person(name="Ada", born=datetime.date(1815, 12, 10))
        session.add(ada)
        session.flush()
        others = [Person(name=f"name {number}") for number in range(100)]
        session.add_all(others)
        session.commit()
        keys = [ada.id, *(other.id for other in others)]
        assert all(isinstance(key, int) for key in keys) and len(set(keys)) == 101
    with orm.Session(engine) as session:
        found = session.get(Person, keys[0])
        assert (found.name, found.born) == ("Ada", datetime.date(1815, 12, 10))
        assert session.get(Person, keys[57]).name == "name 56"
        assert session.scalar(sqlalchemy.select(sqlalchemy.func.count()).select_from(Person)) == 101
        paged = sqlalchemy.select(Person.name).where(Person.name.like("name 1%")).order_by(Person.name).limit(2).offset(1)
        assert session.scalars(paged).all() == ["name 10", "name 11"]


def test_objects_are_changed_and_removed(engine):
    with orm.Session(engine) as session:
        session.add_all([Person(name="Ada"), Person(name="Bob")])
        session.commit()
        bob = session.scalars(sqlalchemy.select(Person).where(Person.name == "Bob")).one()
        bob.name = "Robert"
        session.commit()
        session.delete(session.scalars(sqlalchemy.select(Person).where(Person.name == "Ada")).one())
        session.commit()
    with orm.Session(engine) as session:
        assert session.scalars(sqlalchemy.select(Person.name)).all() == ["Robert"]


def test_a_name_that_is_too_long_or_missing_is_refused(engine):
    for wrong in [Person(name="x" * 51), Person()]:
        with orm.Session(engine) as session, pytest.raises(sqlalchemy.exc.DBAPIError):
            session.add(wrong)
            session.commit()
    with orm.Session(engine) as session:
        assert session.scalar(sqlalchemy.select(sqlalchemy.func.count()).select_from(Person)) == 0
