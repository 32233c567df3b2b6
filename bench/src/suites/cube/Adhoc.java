// The workloads of suite `cube` of filbert-bench, run by Adhoc: https://github.com/solven-eu/adhoc, written for release 0.1.0 and Java 25.
//
// A line comes in: a workload, its sizes, and how often it is measured, such as "product 1000000 0 7". A line goes out: "ok", how many slices
// have a value, the sum of their values, and the nanoseconds of every round; or "error" and a message. Rows lie in Adhoc's table in memory.

import eu.solven.adhoc.cube.CubeWrapper;
import eu.solven.adhoc.data.row.ISlicedRecord;
import eu.solven.adhoc.dataframe.tabular.ITabularView;
import eu.solven.adhoc.dataframe.tabular.MapBasedTabularView;
import eu.solven.adhoc.encoding.column.AdhocColumnUnsafe;
import eu.solven.adhoc.engine.CubeQueryEngine;
import eu.solven.adhoc.engine.query.CubeQuery;
import eu.solven.adhoc.engine.step.ISliceWithStep;
import eu.solven.adhoc.factories.AdhocFactories;
import eu.solven.adhoc.filter.FilterHelpers;
import eu.solven.adhoc.filter.ISliceFilter;
import eu.solven.adhoc.filter.editor.IFilterEditor;
import eu.solven.adhoc.filter.editor.SimpleFilterEditor;
import eu.solven.adhoc.filter.value.EqualsMatcher;
import eu.solven.adhoc.measure.combination.ICombination;
import eu.solven.adhoc.measure.decomposition.IDecomposition;
import eu.solven.adhoc.measure.decomposition.many2many.ManyToMany1DDecomposition;
import eu.solven.adhoc.measure.decomposition.many2many.ManyToMany1DInMemoryDefinition;
import eu.solven.adhoc.measure.forest.UnsafeMeasureForest;
import eu.solven.adhoc.measure.operator.StandardOperatorFactory;
import eu.solven.adhoc.measure.sum.ProductCombination;
import eu.solven.adhoc.measure.sum.SumCombination;
import eu.solven.adhoc.model.measure.Aggregator;
import eu.solven.adhoc.model.measure.Combinator;
import eu.solven.adhoc.model.measure.Dispatchor;
import eu.solven.adhoc.model.measure.Partitionor;
import eu.solven.adhoc.model.measure.Shiftor;
import eu.solven.adhoc.model.query.groupby.GroupByColumns;
import eu.solven.adhoc.options.StandardQueryOptions;
import eu.solven.adhoc.primitive.IValueReceiver;
import eu.solven.adhoc.table.InMemoryTable;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.LocalDate;
import java.util.List;
import java.util.Map;

public class Adhoc {
    /** One more than what is below, without an object per cell, as in Adhoc's own test. */
    public static class PlusOne implements ICombination {
        static final ThreadLocal<Adder> ADDERS = ThreadLocal.withInitial(Adder::new);

        @Override
        public void combine(ISliceWithStep slice, ISlicedRecord below, IValueReceiver receiver) {
            Adder adder = ADDERS.get();
            adder.to = receiver;
            below.read(0, adder);
        }
    }

    static class Adder implements IValueReceiver {
        IValueReceiver to;

        @Override
        public void onLong(long value) {
            to.onLong(value + 1);
        }

        @Override
        public void onDouble(double value) {
            to.onDouble(value + 1);
        }

        @Override
        public void onObject(Object value) {
            to.onObject(value instanceof Number number ? number.doubleValue() + 1 : value);
        }
    }

    /** The day before. */
    public static class DayBefore implements IFilterEditor {
        @Override
        public ISliceFilter editFilter(ISliceFilter filter) {
            if (FilterHelpers.getValueMatcher(filter, "day") instanceof EqualsMatcher same) {
                return SimpleFilterEditor.shift(filter, "day", ((LocalDate) same.getOperand()).minusDays(1));
            }
            return filter;
        }
    }

    final InMemoryTable table = InMemoryTable.builder().build();
    final UnsafeMeasureForest forest = UnsafeMeasureForest.builder().name("bench").build();
    final ManyToMany1DInMemoryDefinition groups = new ManyToMany1DInMemoryDefinition();
    CubeQuery query;

    public static void main(String[] arguments) throws Exception {
        // What the library logs goes elsewhere.
        PrintStream answers = System.out;
        System.setOut(System.err);
        AdhocColumnUnsafe.setLimitColumnSize(20_000_000);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            try {
                String[] words = line.split(" ");
                Adhoc workload = new Adhoc();
                workload.prepare(words[0], Integer.parseInt(words[1]), Integer.parseInt(words[2]));
                answers.println(workload.run(Integer.parseInt(words[3])));
            } catch (Throwable error) {
                answers.println("error " + String.valueOf(error).replace('\n', ' '));
            }
            answers.flush();
        }
    }

    String run(int rounds) {
        StandardOperatorFactory operators = new StandardOperatorFactory() {
            @Override
            public IDecomposition makeDecomposition(String key, Map<String, ?> options) {
                return key.equals(ManyToMany1DDecomposition.class.getName())
                        ? new ManyToMany1DDecomposition(options, groups)
                        : super.makeDecomposition(key, options);
            }
        };
        AdhocFactories factories = AdhocFactories.builder().operatorFactory(operators).build();
        CubeQueryEngine engine = CubeQueryEngine.builder().factories(factories).build();
        CubeWrapper cube = CubeWrapper.builder().table(table).engine(engine).forest(forest).build();
        StringBuilder nanos = new StringBuilder();
        long slices = 0;
        double sum = 0;
        long start = System.nanoTime();
        // Round 0 warms up. One that takes minutes is measured once.
        for (int round = 0; round <= rounds; round++) {
            long begin = System.nanoTime();
            if (round > 1 && begin - start > 60_000_000_000L) {
                break;
            }
            ITabularView view = cube.execute(query);
            long took = System.nanoTime() - begin;
            if (round > 0) {
                nanos.append(' ').append(took);
                continue;
            }
            for (Map<String, ?> values : MapBasedTabularView.load(view).getCoordinatesToValues().values()) {
                for (Object value : values.values()) {
                    if (value instanceof Number number) {
                        slices++;
                        sum += number.doubleValue();
                    }
                }
            }
        }
        return "ok " + slices + " " + sum + nanos;
    }

    void ask(String measure, String first, String... others) {
        query = CubeQuery.builder().measure(measure).groupByAlso(first, others)
                .option(StandardQueryOptions.CONCURRENT).option(StandardQueryOptions.NO_CACHE).build();
    }

    void prepare(String workload, int size, int other) {
        forest.addMeasure(Aggregator.sum("v"));
        switch (workload) {
            case "product" -> {
                for (int row = 0; row < size; row++) {
                    table.add(Map.of("letter", "text " + row % 26, "trade", (long) row, "v", (double) (row % 100),
                            "lots", (double) (row % 7)));
                }
                forest.addMeasure(Aggregator.sum("lots"));
                forest.addMeasure(Partitionor.builder().name("value").underlyings(List.of("v", "lots"))
                        .combinationKey(ProductCombination.KEY).groupBy(GroupByColumns.named("trade")).build());
                ask("value", "letter");
            }
            case "tower" -> {
                numbers(size);
                for (int level = 1; level <= other; level++) {
                    String below = level == 1 ? "v" : "m" + (level - 1);
                    forest.addMeasure(Combinator.builder().name("m" + level).underlyings(List.of(below, below))
                            .combinationKey(SumCombination.KEY).build());
                }
                ask("m" + other, "id");
            }
            case "chain" -> {
                numbers(size);
                for (int link = 1; link <= other; link++) {
                    forest.addMeasure(Combinator.builder().name("m" + link)
                            .underlyings(List.of(link == 1 ? "v" : "m" + (link - 1)))
                            .combinationKey(PlusOne.class.getName()).build());
                }
                ask("m" + other, "id");
            }
            case "shift" -> {
                for (int row = 0; row < size * other; row++) {
                    table.add(Map.of("product", "text " + row % size, "day", LocalDate.ofEpochDay(row / size), "v",
                            (double) (row / size * 3 + row % size)));
                }
                forest.addMeasure(Shiftor.builder().name("before").underlying("v")
                        .editorKey(DayBefore.class.getName()).build());
                ask("before", "product", "day");
            }
            case "dispatch" -> {
                for (long element = 0; element < size; element++) {
                    table.add(Map.of("element", element, "v", (double) element));
                    for (long set = 0; set < 1L << size; set++) {
                        if ((set >> element & 1) == 1) {
                            groups.putElementToGroup(element, set);
                        }
                    }
                }
                forest.addMeasure(Dispatchor.builder().name("spread").underlying("v")
                        .decompositionKey(ManyToMany1DDecomposition.class.getName())
                        .decompositionOptions(Map.of(ManyToMany1DDecomposition.K_INPUT, "element",
                                ManyToMany1DDecomposition.K_OUTPUT, "set"))
                        .build());
                ask("spread", "set");
            }
            default -> throw new IllegalArgumentException("there is no workload " + workload);
        }
    }

    void numbers(int rows) {
        for (int row = 0; row < rows; row++) {
            table.add(Map.of("id", (long) row, "v", (double) row));
        }
    }
}
