import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes from many methods, each at the offset that is the number of the stack that led to it, as Java tells it.
 * FILE.json has the stacks: of each this program's own methods, from inside outwards.
 *
 *     java Jit.java FILE ROUNDS */
public class Jit {
	static final byte[] BYTE = {'x'};
	static final Map<String, Integer> STACKS = new LinkedHashMap<>();
	static RandomAccessFile file;

	static int here() {
		String stack = StackWalker.getInstance().walk(frames -> frames.skip(1)
			.filter(at -> at.getClassName().startsWith("Jit"))
			.map(at -> '"' + at.getClassName() + "." + at.getMethodName() + '"')
			.collect(Collectors.joining(", ", "[", "]")));
		STACKS.putIfAbsent(stack, STACKS.size());
		return STACKS.get(stack);
	}

	static void plain() throws IOException {
		file.seek(here());
		file.write(BYTE, 0, 1);
	}

	static void deep(int left) throws IOException {
		if (left > 0)
			deep(left - 1);
		file.seek(here());
		file.write(BYTE, 0, 1);
	}

	static class Order implements Comparator<Integer> {
		public int compare(Integer a, Integer b) {
			try {
				file.seek(here());
				file.write(BYTE, 0, 1);
			} catch (IOException error) {
				throw new RuntimeException(error);
			}
			return a - b;
		}
	}

	synchronized void locked() throws IOException {
		try {
			file.seek(here());
			file.write(BYTE, 0, 1);
			throw new IllegalStateException();
		} catch (IllegalStateException error) {
			plain();
		}
	}

	static void work(int rounds) throws IOException {
		for (int i = 0; i < rounds; i++) {
			plain();
			deep(3);
			Arrays.sort(new Integer[] {3, 1, 2}, new Order());
			new Jit().locked();
		}
	}

	public static void main(String[] words) throws IOException {
		file = new RandomAccessFile(words[0], "rw");
		work(Integer.parseInt(words[1]));
		Files.writeString(Path.of(words[0] + ".json"), STACKS.keySet().toString());
	}
}
