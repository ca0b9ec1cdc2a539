#compdef checkpoint git-checkpoint checkpoint-doctor
# zsh completion for checkpoint, git checkpoint and checkpoint-doctor
_checkpoint() {
    local line value text shell
    local -a values texts open opentexts
    while IFS=$'\t' read -r value text; do
        case $value in
            :files | :folders) shell=$value ;;
            *[=.\[]) open+=("$value"); opentexts+=("${value}${text:+  -- $text}") ;;
            *) values+=("$value"); texts+=("${value}${text:+  -- $text}") ;;
        esac
    done < <(command checkpoint complete --line="${(j: :)${(@)words[1,CURRENT]}}" 2>/dev/null)
    (( $#values )) && compadd -l -d texts -a values
    (( $#open )) && compadd -l -S '' -d opentexts -a open
    case $shell in
        :files) _files ;;
        :folders) _files -/ ;;
    esac
}
_git-checkpoint() { _checkpoint }
if [[ $funcstack[1] == _checkpoint ]]; then
    _checkpoint "$@"
else
    compdef _checkpoint checkpoint git-checkpoint checkpoint-doctor
fi
