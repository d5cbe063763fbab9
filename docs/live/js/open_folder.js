// A model's folder that a reader chooses or drops: its files are read in the page, and go nowhere.

import { by_id } from "./dom.js";
import { UserError } from "./errors.js";

const MAX_BYTES = 2 ** 30; // of a model's files; the weights stand in memory several times
const FOUND_AT_ONCE = 1000; // files of a folder, before the rest is left unread

/**
 * Call `on_folder(name, files)` for each folder that is chosen or dropped, and `on_error` of a mistake.
 * @param {string[]} names The files that are read of it; those that are missing are left out.
 * @param {function(string, Object<string, ArrayBuffer>)} on_folder
 * @param {function(Error)} on_error
 */
export function listen_to_folders(names, on_folder, on_error) {
  const take = async (find) => {
    try {
      const { name, files } = await find();
      await on_folder(name, await read_files(name, files, names));
    } catch (error) {
      on_error(error);
    }
  };
  by_id("folder").addEventListener("change", ({ target }) => {
    const chosen = [...target.files];
    target.value = ""; // the same folder can be chosen again
    if (chosen.length > 0) take(async () => chosen_folder(chosen));
  });
  const has_files = ({ dataTransfer }) => [...(dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragover", (event) => {
    if (!has_files(event)) return; // text that is dragged into the sentence, say
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", ({ relatedTarget }) => {
    if (relatedTarget === null) document.body.classList.remove("dropping");
  });
  addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    if (!has_files(event)) return;
    event.preventDefault();
    const { items, files } = event.dataTransfer; // both are empty once this function has returned
    const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    const dropped = [...files];
    take(() => dropped_folder(entries, dropped));
  });
}

/** Return the name of a chosen folder and the files that lie in it, not in folders below. */
function chosen_folder(chosen) {
  const path_of = (file) => file.webkitRelativePath.split("/");
  return {
    name: path_of(chosen[0])[0] || "a model",
    files: chosen.filter((file) => path_of(file).length <= 2),
  };
}

/** Return the same of what was dropped: a folder, or a folder's files. */
async function dropped_folder(entries, files) {
  const folder = entries.find((entry) => entry.isDirectory);
  if (folder === undefined) return { name: "a model", files };
  return { name: folder.name, files: await files_in(folder) };
}

/** Return the files in a dropped folder, not those in folders below. */
async function files_in(folder) {
  const reader = folder.createReader();
  const entries = [];
  for (;;) {
    const next = await new Promise((keep, fail) => reader.readEntries(keep, fail));
    entries.push(...next);
    if (next.length === 0 || entries.length > FOUND_AT_ONCE) break;
  }
  const files = entries.filter((entry) => entry.isFile);
  return Promise.all(files.map((entry) => new Promise((keep, fail) => entry.file(keep, fail))));
}

/** Return the bytes of the wanted files that are there, by name. */
async function read_files(folder, files, names) {
  const wanted = files.filter(({ name }) => names.includes(name));
  const bytes = wanted.reduce((sum, { size }) => sum + size, 0);
  if (bytes > MAX_BYTES) {
    const size = `${(bytes / 2 ** 30).toFixed(1)} GiB`;
    throw new UserError(`the model in ${folder} has ${size}, and this page reads up to 1 GiB: translate with Python`);
  }
  try {
    const read = wanted.map(async (file) => [file.name, await file.arrayBuffer()]);
    return Object.fromEntries(await Promise.all(read));
  } catch {
    throw new UserError(`a file in ${folder} cannot be read: may you read it, and is it still there?`);
  }
}
