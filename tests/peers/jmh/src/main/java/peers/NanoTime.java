// SPDX-License-Identifier: MIT
package peers;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;

/** What a Java program pays for the time. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class NanoTime {
	@Benchmark
	public long nanoTime() {
		return System.nanoTime();
	}

	@Benchmark
	public long currentTimeMillis() {
		return System.currentTimeMillis();
	}
}
