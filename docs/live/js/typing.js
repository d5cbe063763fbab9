// What is typed into the sentence's box is read after a pause, or at once with Enter.

const PAUSE = 150; // milliseconds without a key before what is typed is read

/** Call `read(sentence)` when a sentence has been typed into a box. */
export function listen_to_typing(box, read) {
  let timer = 0;
  const read_now = () => {
    clearTimeout(timer);
    read(box.value);
  };
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(read_now, PAUSE);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    read_now();
  });
}
