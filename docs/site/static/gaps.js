// Offers each gap that a browser can judge as a cell to fill in. Python is fetched when the first
// answer is checked, and not before.
(() => {
const HERE = document.currentScript.src;
const inMegabytes = (bytes) => (bytes / 1e6).toFixed(1);
const CANNOT_LOAD = "Python could not be loaded. Check the connection and try again, or fill the gap in with make lab.";
const TOO_OLD = "The connection is good, but this browser could not start Python, which needs WebAssembly and modules in "
  + "workers. Take a newer version of it, or fill the gap in with make lab.";
const CRASHED = "Python broke off while it ran your answer. The next check loads it again.";
const FROM_A_FOLDER = "Browsers let no page load Python from a folder. Serve it, with python -m http.server "
  + "--directory build/site, and open http://localhost:8000; or fill the gap in with make lab.";
const LOADED = ["course.json", "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"];
const WORDS = { passed: "Passed", wrong: "Wrong", "not attempted": "Not attempted", error: "Error", stopped: "Stopped" };

// Say why Python did not load: by what can be fetched, since a worker learns and tells less of it.
async function reasonWhyNotLoaded() {
  const files = ["gap_worker.js", ...LOADED.map((name) => `gaps/${name}`)].map((name) => new URL(name, HERE));
  const isThere = (file) => fetch(file, { method: "HEAD" }).then(({ ok }) => ok, () => false);
  return (await Promise.all(files.map(isThere))).every(Boolean) ? TOO_OLD : CANNOT_LOAD;
}

// One worker judges for the whole page: `ask` sends it a cell, `stop` ends it.
const judge = {
  worker: null,
  answered: null,

  ask(cell, onLoading) {
    return new Promise((resolve) => {
      this.answered = resolve;
      this.worker ??= new Worker(new URL("gap_worker.js", HERE), { type: "module" });
      this.worker.onmessage = ({ data }) => {
        if (data.kind === "loading" || data.kind === "loaded") onLoading(data);
        if (data.kind === "failed") this.fail(data.text);
        if (data.kind === "crashed") this.end({ status: "error", text: CRASHED, traceback: data.text });
        if (data.kind === "verdict") this.answer(data);
      };
      // The worker's own text did not load, or a browser without modules in workers took it for a plain script.
      this.worker.onerror = (event) => {
        event.preventDefault();
        this.fail(event.message ?? "");
      };
      this.worker.postMessage(cell);
    });
  },

  answer(verdict) {
    this.answered?.(verdict);
    this.answered = null;
  },

  async fail(traceback) {
    const { worker } = this;
    const text = await reasonWhyNotLoaded();
    if (this.worker === worker) this.end({ status: "error", text, traceback });
  },

  end(verdict) {
    this.worker?.terminate();
    this.worker = null;
    this.answer(verdict);
  },

  stop() {
    this.end({ status: "stopped", text: "The next check loads Python again.", traceback: "" });
  },
};

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// What was typed is stored in this browser, where that is allowed.
const storedAnswers = {
  read(key) {
    try { return localStorage.getItem(key); } catch { return null; }
  },
  write(key, text) {
    try {
      if (text === null) localStorage.removeItem(key);
      else localStorage.setItem(key, text);
    } catch { /* The answer lives as long as the page. */ }
  },
};

// Enter keeps the line's margin, and adds to it after a colon. Tab leaves the cell, as everywhere.
function keepMargin(event) {
  if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.isComposing) return;
  const { value, selectionStart } = event.target;
  const line = value.slice(0, selectionStart).split("\n").at(-1);
  const margin = line.match(/^ */)[0] + (line.trimEnd().endsWith(":") ? "    " : "");
  event.preventDefault();
  // It is the one way to type into a field that its "undo" knows of.
  if (!document.execCommand("insertText", false, `\n${margin}`)) {
    event.target.setRangeText(`\n${margin}`, selectionStart, event.target.selectionEnd, "end");
  }
}

class Gap {
  constructor(place) {
    this.offer = JSON.parse(place.textContent);
    this.key = `gap:${this.offer.name}`;
    this.hintsShown = 0;
    const id = `gap-${this.offer.name}`;
    this.editor = element("textarea", {
      id, spellcheck: false, autocapitalize: "off", autocomplete: "off", wrap: "off",
      value: storedAnswers.read(this.key) ?? this.offer.blank,
    });
    this.check = this.button("Check", () => this.run());
    this.stop = this.button("Stop", () => judge.stop());
    this.stop.hidden = true;
    this.hint = this.button("Hint", () => this.showHint());
    this.reset = this.button("Reset", () => this.restore());
    this.discarded = null; // what Reset took away, until something is typed
    // A screen reader reads what is being done and the verdict, and not every second that passes.
    this.waiting = element("p", { className: "gap-waiting" });
    this.state = element("p", { className: "gap-state" });
    this.said = element("pre", { className: "gap-said", hidden: true });
    this.verdict = element("div", {}, this.state, this.said);
    this.verdict.setAttribute("role", "status");
    this.trace = element("details", { hidden: true }, element("summary", { textContent: "Traceback" }), element("pre"));
    const title = `Your answer, judged in this page: my_${this.offer.name}`;
    const label = element("label", { id: `${id}-label`, htmlFor: id, textContent: title });
    this.section = element("section", { className: "gap-cell" },
      label,
      this.editor,
      element("div", { className: "gap-buttons" }, this.check, this.stop, this.hint, this.reset),
      this.verdict, this.waiting, this.trace);
    // A page has several: the group says of which gap a button is.
    this.section.setAttribute("role", "group");
    this.section.setAttribute("aria-labelledby", label.id);
    this.editor.addEventListener("input", () => {
      storedAnswers.write(this.key, this.editor.value);
      this.offerToPutBack(null);
      this.fit();
    });
    this.editor.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.run();
      else keepMargin(event);
    });
    place.after(this.section);
    this.fit();
  }

  button(text, action) {
    const made = element("button", { type: "button", textContent: text });
    made.addEventListener("click", action);
    return made;
  }

  fit() {
    this.editor.rows = Math.max(4, this.editor.value.split("\n").length + 1);
  }

  show(status, state, said = "", traceback = "") {
    this.section.dataset.status = status;
    this.state.textContent = state;
    this.said.textContent = said;
    this.said.hidden = !said;
    this.trace.hidden = !traceback;
    this.trace.querySelector("pre").textContent = traceback;
  }

  async run() {
    if (judge.answered) return; // one at a time
    if (location.protocol === "file:") {
      this.show("error", FROM_A_FOLDER);
      return;
    }
    const start = performance.now();
    const waited = () => `${Math.round((performance.now() - start) / 1000)} s`;
    let [doing, amount] = ["", ""];
    const tell = () => { this.waiting.textContent = `${amount}${waited()} ...`; };
    const begin = (what) => {
      if (doing !== what) this.state.textContent = doing = what;
      tell();
    };
    this.show("busy", "");
    begin(judge.worker ? "Checking" : "Loading Python");
    const clock = setInterval(tell, 1000);
    // Not `disabled`, which would take the focus from the button.
    for (const gap of gaps) gap.check.setAttribute("aria-disabled", "true");
    this.stop.hidden = false;
    const { module, name, imports } = this.offer;
    const verdict = await judge.ask({ module, name, imports, source: this.editor.value }, ({ kind, arrived, whole }) => {
      const isLoading = kind === "loading" && arrived < whole;
      amount = isLoading ? `${inMegabytes(arrived)} of ${inMegabytes(whole)} MB, ` : "";
      if (isLoading) begin("Loading Python");
      else begin(kind === "loaded" ? "Checking" : "Starting Python");
    });
    clearInterval(clock);
    this.waiting.textContent = "";
    for (const gap of gaps) gap.check.removeAttribute("aria-disabled");
    if (document.activeElement === this.stop) this.check.focus();
    this.stop.hidden = true;
    this.show(verdict.status, `${WORDS[verdict.status]}, ${waited()}.`, verdict.text, verdict.traceback);
  }

  showHint() {
    const { hints, solution } = this.offer;
    if (this.hintsShown === hints.length) {
      this.show("hint", "A right answer.", solution);
      return;
    }
    this.show("hint", "", hints[this.hintsShown]);
    this.hintsShown += 1;
    if (this.hintsShown === hints.length) this.hint.textContent = "Solution";
  }

  // A second click puts back what the first took away.
  restore() {
    const putBack = this.discarded;
    const { value } = this.editor;
    this.offerToPutBack(putBack === null && value !== this.offer.blank ? value : null);
    this.editor.value = putBack ?? this.offer.blank;
    storedAnswers.write(this.key, putBack);
    this.hintsShown = 0;
    this.hint.textContent = "Hint";
    this.show("", putBack === null ? "As the lesson gives it." : "Your answer, as it was.");
    this.fit();
  }

  offerToPutBack(discarded) {
    this.discarded = discarded;
    this.reset.textContent = discarded === null ? "Reset" : "Undo reset";
  }
}

const gaps = [];
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll("script.gap")) gaps.push(new Gap(place));
});
})();
