// Judges gaps with the course's own checks, which Pyodide runs: Python, compiled for browsers. It is
// a worker, so that the page stays alive and can end a loop that runs for ever.
import { loadPyodide } from "./gaps/pyodide.mjs";

const COURSE = "/course";
const MESSAGE_EVERY = 250; // milliseconds, at least, between two messages while it loads

// Count what arrives, so that the page can say how far it is.
let arrived = 0;
let whole = 0;
let told = 0;
const fetchPlainly = self.fetch.bind(self);
self.fetch = async (...request) => {
  const response = await fetchPlainly(...request);
  if (!response.ok || !response.body) return response;
  const counted = response.body.pipeThrough(new TransformStream({
    transform(chunk, controller) {
      arrived += chunk.byteLength;
      if (arrived >= whole || performance.now() - told > MESSAGE_EVERY) {
        told = performance.now();
        self.postMessage({ kind: "loading", arrived, whole });
      }
      controller.enqueue(chunk);
    },
  }));
  return new Response(counted, { status: response.status, headers: response.headers });
};

async function load() {
  const response = await fetchPlainly(new URL("./gaps/course.json", import.meta.url));
  if (!response.ok) throw new Error(`course.json: HTTP ${response.status}`);
  const course = await response.json();
  whole = course.bytes;
  const pyodide = await loadPyodide();
  for (const [path, text] of Object.entries(course.files)) {
    const file = `${COURSE}/${path}`;
    pyodide.FS.mkdirTree(file.slice(0, file.lastIndexOf("/")));
    pyodide.FS.writeFile(file, text);
  }
  return pyodide.runPython(`
    import json, sys
    sys.path.insert(0, "${COURSE}")
    from lessonkit.exercises.judge_cell import judge_cell
    lambda *cell: json.dumps(judge_cell(*cell)._asdict())
  `);
}

const loaded = load();
loaded.then(
  () => self.postMessage({ kind: "loaded" }),
  (error) => self.postMessage({ kind: "failed", text: String(error.message ?? error) }),
);

self.addEventListener("message", async ({ data }) => {
  const judge = await loaded.catch(() => null); // it has said so already
  if (judge === null) return;
  try {
    const verdict = judge(data.module, data.name, data.source, data.imports);
    self.postMessage({ kind: "verdict", ...JSON.parse(verdict) });
  } catch (error) {
    self.postMessage({ kind: "crashed", text: String(error.message ?? error) });
  }
});
