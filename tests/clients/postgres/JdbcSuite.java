import java.io.StringReader;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.TimeZone;
import org.postgresql.PGConnection;

/** PostgreSQL's JDBC driver against the PostgreSQL door at FILBERT_POSTGRES: a line for each test; ends with 1 when one failed. */
public final class JdbcSuite {
    private interface Test {
        void run(Connection connection) throws Exception;
    }

    private static int failed;

    public static void main(String[] arguments) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("Europe/Oslo"));
        String url = "jdbc:postgresql://" + System.getenv("FILBERT_POSTGRES") + "/filbert?user=ann&password=";
        test(url, "dates and moments come back", JdbcSuite::moments);
        test(url, "paging and lists of ids need no casts", JdbcSuite::places);
        test(url, "a statement that the server prepared goes on", JdbcSuite::prepared);
        test(url, "rows are copied in and out", JdbcSuite::copies);
        test(url, "the driver knows tables and columns", JdbcSuite::tables);
        System.exit(failed == 0 ? 0 : 1);
    }

    private static void test(String url, String name, Test test) {
        try (Connection connection = DriverManager.getConnection(url)) {
            test.run(connection);
            System.out.println("ok      JDBC: " + name);
        } catch (Exception | AssertionError wrong) {
            failed++;
            System.out.println("FAILED  JDBC: " + name);
            wrong.printStackTrace(System.out);
        }
    }

    private static void same(Object found, Object expected) {
        if (!Objects.equals(found, expected)) {
            throw new AssertionError("found " + found + " instead of " + expected);
        }
    }

    private static void moments(Connection connection) throws Exception {
        try (PreparedStatement statement = connection.prepareStatement("SELECT ?::date AS d, ?::timestamptz AS t")) {
            statement.setDate(1, Date.valueOf("1980-01-01"));
            statement.setObject(2, java.time.OffsetDateTime.parse("2000-06-01T12:00:00+02:00"));
            try (ResultSet rows = statement.executeQuery()) {
                rows.next();
                same(rows.getDate(1), Date.valueOf("1980-01-01"));
                same(rows.getTimestamp(2).toInstant(), Instant.parse("2000-06-01T10:00:00Z"));
            }
        }
        // The zone of this program is that of the session.
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT '2000-06-01 12:00:00'::timestamptz AS t")) {
            rows.next();
            same(rows.getTimestamp(1).toInstant(), Instant.parse("2000-06-01T10:00:00Z"));
        }
    }

    private static List<Long> longs(PreparedStatement statement) throws Exception {
        List<Long> found = new ArrayList<>();
        try (ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                found.add(rows.getLong(1));
            }
        }
        return found;
    }

    private static void places(Connection connection) throws Exception {
        String table = "SELECT value FROM generate_series(1, 9)";
        try (PreparedStatement page = connection.prepareStatement(table + " ORDER BY value LIMIT ? OFFSET ?");
                PreparedStatement some = connection.prepareStatement(table + " WHERE value = ANY(?) ORDER BY value")) {
            page.setInt(1, 2);
            page.setInt(2, 3);
            same(longs(page), List.of(4L, 5L));
            some.setArray(1, connection.createArrayOf("int8", new Long[] {2L, 7L, 11L}));
            same(longs(some), List.of(2L, 7L));
        }
    }

    private static void prepared(Connection connection) throws Exception {
        try (PreparedStatement statement = connection.prepareStatement("SELECT ?::int + 1 AS x")) {
            for (int number = 0; number < 20; number++) {
                statement.setInt(1, number);
                same(longs(statement), List.of(number + 1L));
            }
        }
    }

    private static void copies(Connection connection) throws Exception {
        String name = "t_" + Long.toHexString(System.nanoTime());
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE " + name + " (id bigint, name text)");
            var copies = connection.unwrap(PGConnection.class).getCopyAPI();
            same(copies.copyIn("COPY " + name + " FROM STDIN (FORMAT csv)", new StringReader("1,\"a, b\"\n2,\n")), 2L);
            StringWriter out = new StringWriter();
            same(copies.copyOut("COPY (SELECT * FROM " + name + " ORDER BY id) TO STDOUT", out), 2L);
            same(out.toString(), "1\ta, b\n2\t\\N\n");
            statement.execute("DROP TABLE " + name);
        }
    }

    private static void tables(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            String name = "t_" + Long.toHexString(System.nanoTime());
            statement.execute("CREATE TABLE " + name + " (id bigint, born date)");
            List<String> found = new ArrayList<>();
            try (ResultSet rows = connection.getMetaData().getColumns(null, "public", name, "%")) {
                while (rows.next()) {
                    found.add(rows.getString("COLUMN_NAME") + " " + rows.getString("TYPE_NAME"));
                }
            }
            same(found, List.of("id int8", "born date"));
            statement.execute("DROP TABLE " + name);
        }
    }
}
