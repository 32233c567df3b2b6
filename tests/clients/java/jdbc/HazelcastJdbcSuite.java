import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Hazelcast's JDBC driver against the member at FILBERT_ADDRESS: a line for each test; ends with 1 when one failed. */
public final class HazelcastJdbcSuite {
    private interface Test {
        void run(Connection connection, String name) throws Exception;
    }

    private static int failed;

    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:hazelcast://" + Objects.requireNonNull(System.getenv("FILBERT_ADDRESS"),
            "FILBERT_ADDRESS=host:port names the member to test; tests/clients/run.sh starts one and sets it") + "/";
        System.setProperty("hazelcast.logging.type", "none");
        System.setProperty("hazelcast.phone.home.enabled", "false");
        // One connection for all: each is a whole client with threads of its own.
        try (Connection connection = DriverManager.getConnection(url)) {
            test(connection, "values come back", HazelcastJdbcSuite::values);
            test(connection, "rows are changed and counted by parameters", HazelcastJdbcSuite::changes);
            test(connection, "many rows come in pages", HazelcastJdbcSuite::pages);
            test(connection, "an error is an exception, and the connection goes on", HazelcastJdbcSuite::errors);
            test(connection, "getTables lists mappings and views, and nothing else", HazelcastJdbcSuite::tables);
            test(connection, "getColumns knows names, types and order", HazelcastJdbcSuite::columns);
            test(connection, "getColumns knows the columns of a view", HazelcastJdbcSuite::columnsOfAView);
            test(connection, "the driver says what it is connected to", HazelcastJdbcSuite::server);
        }
        // Threads of the driver do not keep the process.
        Runtime.getRuntime().halt(failed == 0 ? 0 : 1);
    }

    private static void test(Connection connection, String what, Test test) throws SQLException {
        String name = "t_" + Long.toHexString(System.nanoTime());
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE MAPPING " + name + " (__key BIGINT, name VARCHAR, price DECIMAL, born DATE, seen TIMESTAMP WITH TIME ZONE, "
                + "small TINYINT, yes BOOLEAN, ratio DOUBLE) TYPE IMap OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'compact', "
                + "'valueCompactTypeName' = '" + name + "')");
            statement.execute("CREATE VIEW v_" + name + " AS SELECT __key AS id, seen FROM " + name);
            try {
                test.run(connection, name);
            } finally {
                statement.execute("DROP VIEW v_" + name);
                statement.execute("DROP MAPPING " + name);
            }
            System.out.println("ok      Hazelcast's JDBC: " + what);
        } catch (Exception | AssertionError wrong) {
            failed++;
            System.out.println("FAILED  Hazelcast's JDBC: " + what);
            wrong.printStackTrace(System.out);
        }
    }

    private static void same(Object found, Object expected) {
        if (!Objects.equals(found, expected)) {
            throw new AssertionError("found " + found + " instead of " + expected);
        }
    }

    private static void values(Connection connection, String name) throws Exception {
        String text = "SELECT CAST(? AS BIGINT) AS a, CAST(? AS VARCHAR) AS b, CAST(? AS DECIMAL) AS c, CAST(? AS DOUBLE) AS d, CAST(? AS BOOLEAN) AS e, "
            + "CAST(? AS DATE) AS f, CAST(? AS TIMESTAMP) AS g, CAST(? AS INTEGER) AS h";
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            statement.setLong(1, 1L << 40);
            statement.setString(2, "größer");
            statement.setBigDecimal(3, new BigDecimal("12.34"));
            statement.setDouble(4, 1.5);
            statement.setBoolean(5, true);
            statement.setObject(6, LocalDate.of(2024, 2, 29));
            statement.setObject(7, LocalDateTime.of(2024, 2, 29, 12, 0, 0, 500_000_000));
            statement.setNull(8, Types.INTEGER);
            try (ResultSet rows = statement.executeQuery()) {
                same(rows.next(), true);
                same(rows.getLong("a"), 1L << 40);
                same(rows.getString("b"), "größer");
                same(rows.getBigDecimal("c").compareTo(new BigDecimal("12.34")), 0);
                same(rows.getDouble("d"), 1.5);
                same(rows.getBoolean("e"), true);
                same(rows.getObject("f"), LocalDate.of(2024, 2, 29));
                same(rows.getObject("g"), LocalDateTime.of(2024, 2, 29, 12, 0, 0, 500_000_000));
                rows.getInt("h");
                same(rows.wasNull(), true);
                same(rows.getMetaData().getColumnType(1), Types.BIGINT);
                same(rows.getMetaData().getColumnName(2), "b");
                same(rows.next(), false);
            }
        }
    }

    private static void changes(Connection connection, String name) throws Exception {
        try (PreparedStatement insert = connection.prepareStatement("SINK INTO " + name + " (__key, name, born) VALUES (?, ?, ?)")) {
            for (long key = 1; key <= 5; key++) {
                insert.setLong(1, key);
                insert.setString(2, "name " + key);
                insert.setObject(3, LocalDate.of(2024, 2, 29));
                insert.execute();
            }
        }
        try (PreparedStatement statement = connection.prepareStatement("UPDATE " + name + " SET name = ? WHERE __key = ?")) {
            statement.setString(1, "new");
            statement.setLong(2, 3);
            statement.executeUpdate();
        }
        try (PreparedStatement statement = connection.prepareStatement("DELETE FROM " + name + " WHERE __key = ?")) {
            statement.setLong(1, 4);
            statement.executeUpdate();
        }
        List<String> found = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement("SELECT __key, name, born FROM " + name + " WHERE __key > ? ORDER BY __key")) {
            statement.setLong(1, 1);
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    found.add(rows.getLong(1) + " " + rows.getString(2) + " " + rows.getObject(3, LocalDate.class));
                }
            }
        }
        same(found, List.of("2 name 2 2024-02-29", "3 new 2024-02-29", "5 name 5 2024-02-29"));
    }

    private static void pages(Connection connection, String name) throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(100);
            try (ResultSet rows = statement.executeQuery("SELECT v FROM TABLE(generate_series(1, 10000))")) {
                long sum = 0;
                while (rows.next()) {
                    sum += rows.getLong(1);
                }
                same(sum, 10_000L * 10_001 / 2);
            }
        }
    }

    private static void errors(Connection connection, String name) throws Exception {
        try (Statement statement = connection.createStatement()) {
            for (String wrong : new String[] {"SELEC 1", "SELECT * FROM nowhere"}) {
                boolean refused = false;
                try (ResultSet rows = statement.executeQuery(wrong)) {
                    rows.next();
                } catch (SQLException expected) {
                    refused = true;
                }
                same(refused, true);
            }
            try (ResultSet rows = statement.executeQuery("SELECT 1 AS a")) {
                same(rows.next() ? rows.getInt("a") : -1, 1);
            }
        }
    }

    private static void tables(Connection connection, String name) throws Exception {
        DatabaseMetaData data = connection.getMetaData();
        List<String> mine = new ArrayList<>();
        try (ResultSet rows = data.getTables(null, null, "%" + name, null)) {
            while (rows.next()) {
                mine.add(rows.getString("TABLE_CAT") + " " + rows.getString("TABLE_SCHEM") + " " + rows.getString("TABLE_NAME") + " "
                    + rows.getString("TABLE_TYPE"));
            }
        }
        same(mine, List.of("hazelcast public " + name + " MAPPING", "hazelcast public v_" + name + " VIEW"));
        List<String> views = new ArrayList<>();
        try (ResultSet rows = data.getTables("hazelcast", "public", "%", new String[] {"VIEW"})) {
            while (rows.next()) {
                views.add(rows.getString("TABLE_NAME"));
            }
        }
        same(views, List.of("v_" + name));
        List<String> schemas = new ArrayList<>();
        try (ResultSet rows = data.getTables(null, null, null, null)) {
            while (rows.next()) {
                schemas.add(rows.getString("TABLE_SCHEM"));
            }
        }
        same(schemas.stream().distinct().toList(), List.of("public"));
    }

    private static List<String> columnsOf(Connection connection, String table, String column) throws SQLException {
        List<String> found = new ArrayList<>();
        try (ResultSet rows = connection.getMetaData().getColumns(null, "public", table, column)) {
            while (rows.next()) {
                same(rows.getString("TABLE_NAME"), table);
                same(rows.getString("IS_NULLABLE"), "YES");
                String type = rows.getString("TYPE_NAME");
                // For such a column of a mapping, but not of a view, a Hazelcast member gives the driver a name that it does not know.
                boolean unsure = type.equals("TIMESTAMP WITH TIME ZONE") && !table.startsWith("v_");
                found.add(rows.getInt("ORDINAL_POSITION") + " " + rows.getString("COLUMN_NAME") + " "
                    + (unsure ? "" : rows.getInt("DATA_TYPE") + " ") + type);
            }
        }
        return found;
    }

    private static void columns(Connection connection, String name) throws Exception {
        same(columnsOf(connection, name, "%"), List.of(
            "1 __key " + Types.BIGINT + " BIGINT", "2 name " + Types.VARCHAR + " VARCHAR", "3 price " + Types.DECIMAL + " DECIMAL",
            "4 born " + Types.DATE + " DATE", "5 seen TIMESTAMP WITH TIME ZONE",
            "6 small " + Types.TINYINT + " TINYINT", "7 yes " + Types.BOOLEAN + " BOOLEAN", "8 ratio " + Types.DOUBLE + " DOUBLE"));
        same(columnsOf(connection, name, "na%"), List.of("2 name " + Types.VARCHAR + " VARCHAR"));
        // As a tree of tables asks: for all that there are.
        boolean any = false;
        try (ResultSet rows = connection.getMetaData().getColumns(null, null, null, null)) {
            while (rows.next()) {
                any |= rows.getString("TABLE_NAME").equals(name);
            }
        }
        same(any, true);
    }

    private static void columnsOfAView(Connection connection, String name) throws Exception {
        same(columnsOf(connection, "v_" + name, "%"), List.of("1 id " + Types.BIGINT + " BIGINT", "2 seen " + Types.TIMESTAMP_WITH_TIMEZONE + " TIMESTAMP WITH TIME ZONE"));
    }

    private static void server(Connection connection, String name) throws Exception {
        DatabaseMetaData data = connection.getMetaData();
        same(data.getDatabaseProductName(), "Hazelcast");
        same(connection.isValid(10), true);
        try (ResultSet types = data.getTypeInfo()) {
            same(types.next(), true);
        }
    }
}
