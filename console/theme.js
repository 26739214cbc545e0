// Set the theme before anything is painted. A classic script, because modules run too late.
(() => {
  const choice = localStorage.getItem("postfinch.theme");
  if (choice === "light" || choice === "dark") document.documentElement.dataset.theme = choice;
})();
