// Tells each test of node's own runner on a line of its own, with the file and the titles above it.
export default async function* reporter(source) {
  const titles = new Map();
  for await (const { type, data } of source) {
    const stack = titles.get(data?.file) ?? [];
    if (type === 'test:start') {
      stack.length = data.nesting;
      stack[data.nesting] = data.name;
      titles.set(data.file, stack);
    } else if (type === 'test:pass' || type === 'test:fail') {
      const skipped = data.skip !== undefined || data.todo !== undefined;
      const outcome = skipped ? 'skip' : type.slice(5);
      const names = [...stack.slice(0, data.nesting), data.name];
      yield `${JSON.stringify({ file: data.file ?? '', names, outcome, kind: data.details?.type ?? '' })}\n`;
    }
  }
}
