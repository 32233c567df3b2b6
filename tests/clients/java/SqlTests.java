// SQL: rows, types, pages, parameters, changes, errors, closing.

import com.hazelcast.map.IMap;
import com.hazelcast.sql.HazelcastSqlException;
import com.hazelcast.sql.SqlColumnType;
import com.hazelcast.sql.SqlExpectedResultType;
import com.hazelcast.sql.SqlResult;
import com.hazelcast.sql.SqlRow;
import com.hazelcast.sql.SqlStatement;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

final class SqlTests {
    private SqlTests() {
    }

    static void addTo(Suite suite) {
        suite.testIf(Suite.HAS_SQL, "SQL: types", SqlTests::types);
        suite.testIf(Suite.HAS_SQL, "SQL: pages and parameters", () -> with(SqlTests::pages));
        suite.testIf(Suite.HAS_SQL, "SQL: changes", () -> with(SqlTests::changes));
        suite.testIf(Suite.HAS_SQL, "SQL: Compact records", SqlTests::compact);
        suite.testIf(Suite.HAS_SQL, "SQL: errors", SqlTests::errors);
        suite.testIf(Suite.HAS_SQL, "SQL: closing", () -> with(SqlTests::closing));
        suite.testIf(Suite.HAS_SQL, "SQL: expected results", () -> with(SqlTests::expected));
    }

    private static SqlResult run(String text, Object... parameters) {
        return Suite.client.getSql().execute(text, parameters);
    }

    private static List<Object> column(SqlStatement statement) {
        List<Object> found = new ArrayList<>();
        try (SqlResult result = Suite.client.getSql().execute(statement)) {
            for (SqlRow row : result) {
                found.add(row.getObject(0));
            }
        }
        return found;
    }

    /** A test with a map of ten numbers that is a table. */
    private static void with(Consumer<IMap<Integer, Integer>> test) {
        IMap<Integer, Integer> map = Suite.client.getMap(Suite.name());
        for (int i = 0; i < 10; i++) {
            map.set(i, i);
        }
        run("CREATE MAPPING \"" + map.getName() + "\" (__key INTEGER, this INTEGER) TYPE IMap "
            + "OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'int')").close();
        test.accept(map);
        run("DROP MAPPING \"" + map.getName() + "\"").close();
        map.destroy();
    }

    private static void types() {
        Map<String, Object> wanted = Map.ofEntries(
            Map.entry("CAST('Grüße 😀' AS VARCHAR)", "Grüße 😀"), Map.entry("TRUE", true),
            Map.entry("CAST(-7 AS TINYINT)", (byte) -7), Map.entry("CAST(-300 AS SMALLINT)", (short) -300),
            Map.entry("CAST(70000 AS INTEGER)", 70_000), Map.entry("CAST(9007199254740993 AS BIGINT)", 9_007_199_254_740_993L),
            Map.entry("CAST(-12.34 AS DECIMAL(10, 2))", new BigDecimal("-12.34")), Map.entry("CAST(1.5 AS REAL)", 1.5f),
            Map.entry("CAST(0.1 AS DOUBLE)", 0.1), Map.entry("CAST('2024-02-29' AS DATE)", LocalDate.of(2024, 2, 29)),
            Map.entry("CAST('23:59:58' AS TIME)", LocalTime.of(23, 59, 58)),
            Map.entry("CAST('1969-12-31 23:59:59' AS TIMESTAMP)", LocalDateTime.of(1969, 12, 31, 23, 59, 59)),
            Map.entry("CAST('2024-02-29 12:00:00Z' AS TIMESTAMP WITH TIME ZONE)", OffsetDateTime.parse("2024-02-29T12:00:00Z")));
        wanted.forEach((expression, value) -> {
            try (SqlResult result = run("SELECT " + expression + " AS c")) {
                Suite.equal("c", result.getRowMetadata().getColumn(0).getName());
                Suite.equal(value, result.iterator().next().getObject("c"));
            }
        });
        try (SqlResult result = run("SELECT CAST(NULL AS INTEGER) AS c")) {
            Suite.equal(SqlColumnType.INTEGER, result.getRowMetadata().getColumn(0).getType());
            Suite.equal(null, result.iterator().next().getObject(0));
        }
    }

    private static void pages(IMap<Integer, Integer> map) {
        String text = "SELECT this FROM \"" + map.getName() + "\" WHERE this >= ? ORDER BY this";
        for (int size : new int[] {1, 3, 10}) {
            SqlStatement statement = new SqlStatement(text).addParameter(2).setCursorBufferSize(size);
            Suite.equal(List.of(2, 3, 4, 5, 6, 7, 8, 9), column(statement));
        }
    }

    private static void changes(IMap<Integer, Integer> map) {
        try (SqlResult result = run("INSERT INTO \"" + map.getName() + "\" VALUES (?, ?)", 100, 1)) {
            Suite.no(result.isRowSet());
            Suite.yes(result.updateCount() >= 0);
        }
        Suite.equal(1, map.get(100));
        run("UPDATE \"" + map.getName() + "\" SET this = 5 WHERE __key = 100").close();
        Suite.equal(5, map.get(100));
        run("DELETE FROM \"" + map.getName() + "\" WHERE __key = 100").close();
        Suite.equal(null, map.get(100));
    }

    private static void compact() {
        IMap<Integer, ValueTests.Person> map = Suite.client.getMap(Suite.name());
        map.set(1, new ValueTests.Person("Ada", 36, "London"));
        map.set(2, new ValueTests.Person("Bob", 20, "Rome"));
        run("CREATE MAPPING \"" + map.getName() + "\" (__key INTEGER, name VARCHAR, age INTEGER, city VARCHAR) TYPE IMap OPTIONS "
            + "('keyFormat' = 'int', 'valueFormat' = 'compact', 'valueCompactTypeName' = 'ValueTests$Person')").close();
        SqlStatement statement = new SqlStatement("SELECT name FROM \"" + map.getName() + "\" WHERE age > ?").addParameter(30);
        Suite.equal(List.of("Ada"), column(statement));
        run("DROP MAPPING \"" + map.getName() + "\"").close();
        map.destroy();
    }

    private static void errors() throws Exception {
        for (Map.Entry<String, Integer> wrong : Map.of("SELEC 1", 1008, "SELECT * FROM \"there is none\"", 1010).entrySet()) {
            HazelcastSqlException error = Suite.fails(HazelcastSqlException.class, () -> run(wrong.getKey()));
            Suite.yes(error.getMessage() != null && !error.getMessage().isEmpty());
        }
    }

    private static void closing(IMap<Integer, Integer> map) {
        SqlStatement statement = new SqlStatement("SELECT this FROM \"" + map.getName() + "\"").setCursorBufferSize(1);
        SqlResult result = Suite.client.getSql().execute(statement);
        Iterator<SqlRow> rows = result.iterator();
        rows.next();
        result.close();
        try {
            Suite.fails(HazelcastSqlException.class, () -> {
                while (rows.hasNext()) {
                    rows.next();
                }
            });
        } catch (Exception error) {
            throw new AssertionError(error);
        }
    }

    private static void expected(IMap<Integer, Integer> map) {
        SqlStatement statement = new SqlStatement("SELECT this FROM \"" + map.getName() + "\"");
        Suite.equal(10, column(statement.setExpectedResultType(SqlExpectedResultType.ROWS)).size());
        try {
            Suite.fails(HazelcastSqlException.class, () -> column(statement.setExpectedResultType(SqlExpectedResultType.UPDATE_COUNT)));
        } catch (Exception error) {
            throw new AssertionError(error);
        }
    }
}
